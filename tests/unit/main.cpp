// The unit tests: what is pure, in microseconds, under every sanitizer. doctest's own options pick
// some: build/debug/unit-tests -tc='durations*'
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
