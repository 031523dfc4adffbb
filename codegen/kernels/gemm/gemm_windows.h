// A convolution as gemm_tma.cuh sees it: a product whose left operand's rows are windows of images with
// their channels last, which the hardware finds by itself (kernels/gemm/gemm_tma_left.cuh).
#pragma once

#include "codegen/kernel.h"
#include "codegen/kernels/gemm/gemm_product.h"

#include <set>

namespace smelt::codegen {

/// Pixel o of the result meets, with tap t, pixel o * stride + lower + t * dilation of the image.
struct WindowAxis {
  Dim size; ///< of the image
  int64_t stride = 1;
  int lower = 0; ///< where the first window's first tap lies
  int upper = 0; ///< where the last one's may lie, from the last pixel
  Dim first;     ///< o * stride + lower
  Dim offset;    ///< t * dilation
};

struct WindowLayout {
  IterationSpace space; ///< with %k in parts: the taps, and the channel
  Dim images;           ///< how many
  Dim image, channel;   ///< of an element
  int64_t channels;     ///< of a pixel; or elements of a row of taps, which stand for one pixel's
  Dim pixelStride, rowStride, imageStride; ///< distances in memory, in elements
  int rowBytes = 0;                        ///< of a pixel that one copy moves
  WindowAxis down, across;
};

/// Why the hardware cannot find the windows, in words; empty where it can.
struct WindowsOrReason {
  std::optional<WindowLayout> windows = {};
  std::string reason = {};
};

/// The left operand as windows of images [image, (row,) column, channel], in zeros or not. A step takes
/// `stepBytes` of the channels of one tap; of few channels, whole rows of taps.
WindowsOrReason describeWindows(const GemmProduct &product, int64_t stepBytes);

/// It is made of windows of more than one pixel.
bool opensWindows(const GemmProduct &product);

/// The map of `windows` of the fusion's input `input`, for copies of `pixels` rows.
TensorMap mapOf(const WindowLayout &windows, unsigned input, mlir::Type element, int pixels);

/// The members of the kernel's problem that say where rows and their elements lie. Adds to `sizes` the
/// size symbols that they read.
std::string windowMembers(const WindowLayout &windows, std::set<std::string> &sizes);

} // namespace smelt::codegen
