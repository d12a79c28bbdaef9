// Replaces libpq.cpp in a program that loads no libraries.
#include "store/postgres/libpq.hpp"

namespace store::postgres {

const base::Result<LibPq, std::string>& libpq() {
  static const base::Result<LibPq, std::string> none{
      std::string{"this program loads no shared libraries"}};
  return none;
}

}  // namespace store::postgres
