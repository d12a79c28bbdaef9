#include "hold/interruption.hpp"

#include "base/log.hpp"

namespace hold {

Interruption::Taken InterruptionBySignals::take() {
  Taken taken;
  while (const auto signal = signals_.take()) {
    taken.any = true;
    if (os::ends_a_process(signal->number)) {
      taken.ends = signal->number;
      break;
    }
    if (os::stops_a_process(signal->number)) {
      base::log::clear_status();
      os::Signals::suspend(signal->number);
    }
  }
  return taken;
}

}  // namespace hold
