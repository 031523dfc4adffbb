// NumPy's .npy files.
#pragma once

#include "codegen/byte_output.h"
#include "tools/smelt/array.h"

namespace smelt::tools {

/// Reads versions 1 to 3 of the format: little-endian, C order, the element types of ElementType
/// ("<V2" is bfloat16, as ml_dtypes saves it). Fails with kUsage, naming the file, where it
/// cannot be opened, is no .npy file, is malformed, too short or too long, or holds another type.
Result<Array> readNpy(const std::string &path);

/// The same for the bytes of a file that are in memory; `path` stands for it in messages.
Result<Array> parseNpy(const std::string &path, std::string_view file);

/// Writes version 1. bfloat16 is written as float32, which holds every value of it. The file
/// appears whole or not at all; fails with kResources.
Status writeNpy(const std::string &path, const Array &tensor);

/// Appends the bytes of such a file. Fails as the output does.
Status appendNpy(codegen::ByteOutput &output, const Array &tensor);

} // namespace smelt::tools
