// What ps(1) shows of our own arguments.
#pragma once

#include <span>

namespace cmd {

/// Overwrites the passwords of URLs in these words, up to a "--", with asterisks: /proc/PID/cmdline
/// is that memory. Until then, an instant, they can be read; so a password is better given
/// elsewhere.
void scrub_argv(std::span<char*> words);

}  // namespace cmd
