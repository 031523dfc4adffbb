// What trtexec prints and writes of a measurement, in its words.
#pragma once

#include "tools/smelt/measurement.h"
#include "tools/smelt/trtexec_flags.h"

namespace smelt::tools {

/// The "Performance summary" and, where the flags ask for them, the profile and the kernels; writes the files that the flags name.
Status reportAsTrtexec(const TrtexecFlags &flags, const Measurement &measured);

/// The outputs, printed or written as the flags ask.
Status reportOutputs(const TrtexecFlags &flags, const Signature &signature,
                     const std::vector<Array> &outputs);

} // namespace smelt::tools
