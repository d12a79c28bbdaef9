// fmt's code, compiled once. Its headers only declare it where FMT_HEADER_ONLY is not defined, and
// the distribution has no static library of it.
#include <fmt/format-inl.h>

// The templates that the headers leave to that library (fmt 9 and 10).
namespace fmt::detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);
template std::locale locale_ref::get<std::locale>() const;
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
}  // namespace fmt::detail
