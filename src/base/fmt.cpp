// fmt's code, compiled once. Without FMT_HEADER_ONLY its headers only declare it, and the
// distribution ships no static library of it.
#include <fmt/format-inl.h>

// The templates that the headers expect in that library (fmt 9 and 10).
namespace fmt::detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);
template std::locale locale_ref::get<std::locale>() const;
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
}  // namespace fmt::detail
