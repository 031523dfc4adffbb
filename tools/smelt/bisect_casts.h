// Which of the casts to 16 bits moves the outputs of a narrowed model too far.
#pragma once

#include "tools/smelt/open.h"

namespace smelt::tools {

struct CastVerdict {
  double bound; ///< of ‖out − ref‖/‖ref‖
  /// Ops that bring the outputs within the bound when they stay float32, the worst first; by itself in 16
  /// bits the last of them is what breaks it. Empty where no cast is to blame.
  std::vector<NarrowingReport::Wide> wide;
  std::string text; ///< the same for people, one line or several
};

/// Searches by bisection with the interpreter, on these inputs, as `smelt compile --within` does. The bound
/// is that of 16-bit floats unless `tolerance` says another. Fails as importModel() and fuse() do.
Result<CastVerdict> bisectCasts(const OpenFlags &flags, const std::vector<Array> &inputs,
                                std::optional<double> tolerance);

} // namespace smelt::tools
