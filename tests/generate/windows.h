// Windows over the spatial axes of a tensor [N, C, spatial...], as convolutions and pools slide them.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

struct Windows {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads; ///< all starts, then all ends
  Shape counts;              ///< windows along each axis
};

struct WindowOptions {
  bool mayDilate = true;
  bool padsLessThanKernel = false; ///< and not where it is dilated: no window without an element
  bool countsIncomplete = false;   ///< ceil_mode
};

/// Windows that fit into the padded `sizes`.
Windows drawWindows(Drawing &draw, const Shape &sizes, const WindowOptions &options);

/// A convolution over one to three spatial axes: groups, strides, dilations and paddings.
struct Convolution {
  Shape filter, result;
  Attributes attributes;

  /// Products that each sum has.
  double depth() const { return static_cast<double>(largestCount(filter) / filter[0].largest()); }
};

/// Of an input of this shape; none where it has other axes, or too many channels.
std::optional<Convolution> drawConvolution(Drawing &draw, const Shape &input);

} // namespace smelt::generate
