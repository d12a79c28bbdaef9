// The one table of rlock's own exit codes; tests compare the man page with it.
#pragma once

namespace cmd {

// A run exits with the job's own code, or 128+N if the job died of signal N, unless:
enum ExitCode : int {
  ok = 0,
  not_found_here = 1,      // inspect --quiet: free; force-release: nobody holds it, or answered no
  usage = 64,              // usage error
  unreachable = 69,        // no lock server could be reached
  internal = 70,           // rlock's own fault
  system_refused = 71,     // the system refused (fork, pipe)
  busy = 75,               // held by another, or the wait ended (--conflict-exit-code changes it)
  lost = 76,               // the lock was lost and the job was stopped
  denied = 77,             // the server refused the credentials or a permission
  bad_config = 78,         // bad config file or server URL
  not_executable = 126,    // COMMAND could not be executed
  command_not_found = 127  // COMMAND was not found
};

}  // namespace cmd
