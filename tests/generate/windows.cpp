#include "tests/generate/windows.h"

#include <algorithm>

namespace smelt::generate {

namespace {

/// How many windows there are in `size` elements; with ceil, also an incomplete one that begins
/// before the padding at the end.
int64_t countWindows(int64_t size, int64_t before, int64_t after, int64_t reach, int64_t stride,
                     bool ceil) {
  int64_t free = size + before + after - reach;
  int64_t count = (free + (ceil ? stride - 1 : 0)) / stride + 1;
  return ceil && (count - 1) * stride >= size + before ? count - 1 : count;
}

/// One group, two, or one for each channel.
int64_t drawGroups(Drawing &draw, int64_t channels) {
  bool isGrouped = draw.chance(0.4);
  if (!isGrouped)
    return 1;
  return channels % 2 == 0 && draw.chance(0.6) ? 2 : channels;
}

/// One window for each stride, so many paddings as that takes.
const char *padAlike(Drawing &draw, const Shape &sizes, Windows &windows) {
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    windows.counts[axis] =
        Size::of((sizes[axis].values[0] + windows.strides[axis] - 1) / windows.strides[axis]);
  return draw.chance(0.5) ? "SAME_UPPER" : "SAME_LOWER";
}

} // namespace

Windows drawWindows(Drawing &draw, const Shape &sizes, const WindowOptions &options) {
  Windows windows;
  std::vector<int64_t> ends;
  for (const Size &size : sizes) {
    int64_t kernel = draw.between(1, 3), stride = draw.between(1, 3),
            dilation = options.mayDilate ? draw.between(1, 2) : 1;
    if (options.padsLessThanKernel)
      kernel = std::min(kernel, std::max<int64_t>(size.smallest(), 1));
    if (options.padsLessThanKernel && size.smallest() < (kernel - 1) * dilation + 1)
      dilation = 1;
    int64_t mostPadding = !options.padsLessThanKernel ? 2 : dilation > 1 ? 0 : kernel - 1;
    int64_t before = draw.between(0, mostPadding), after = draw.between(0, mostPadding),
            reach = (kernel - 1) * dilation + 1;
    if (size.smallest() + before + after < reach)
      before = after = reach;
    std::array<int64_t, kAssignments> values;
    for (size_t at = 0; at < kAssignments; ++at)
      values[at] =
          countWindows(size.values[at], before, after, reach, stride, options.countsIncomplete);
    windows.counts.push_back(size.isConstant() ? Size::of(values[0]) : draw.derived(values));
    windows.kernel.push_back(kernel), windows.strides.push_back(stride);
    windows.dilations.push_back(dilation);
    windows.pads.push_back(before), ends.push_back(after);
  }
  windows.pads.insert(windows.pads.end(), ends.begin(), ends.end());
  return windows;
}

std::optional<Convolution> drawConvolution(Drawing &draw, const Shape &input) {
  if (input.size() < 3 || input.size() > 5)
    return std::nullopt;
  const Size &channels = input[1];
  if (!channels.isConstant() || channels.values[0] > 128 || channels.values[0] < 1)
    return std::nullopt;
  int64_t in = channels.values[0], groups = drawGroups(draw, in);
  int64_t out = groups * draw.between(1, groups > 2 ? 2 : 9);
  Shape sizes(input.begin() + 2, input.end());
  Windows windows = drawWindows(draw, sizes, {});
  bool isPadded = isStatic(sizes) && draw.chance(0.15);
  const char *padding = isPadded ? padAlike(draw, sizes, windows) : nullptr;
  Convolution drawn{{Size::of(out), Size::of(in / groups)}, {input[0], Size::of(out)}, {}};
  for (int64_t kernel : windows.kernel)
    drawn.filter.push_back(Size::of(kernel));
  drawn.result.insert(drawn.result.end(), windows.counts.begin(), windows.counts.end());
  if (largestCount(drawn.result) > 1 << 18)
    return std::nullopt;
  drawn.attributes.add("strides", windows.strides)
      .add("dilations", windows.dilations)
      .add("group", groups);
  if (padding)
    drawn.attributes.add("auto_pad", padding);
  else
    drawn.attributes.add("pads", windows.pads);
  return drawn;
}

} // namespace smelt::generate
