// CUDA text, preprocessed, as C++ for the host.
#pragma once

#include <string>
#include <vector>

namespace smelt::emulator {

/// Every statement in assembly becomes calls of the functions that instructions.h and matrices.h name after instructions;
/// arrays of shared memory that a launch gives get their address, others become static; what the two languages do differently (floats cast to
/// integers) is said by a call. Throws std::runtime_error for assembly that it cannot read.
std::string rewriteForHost(const std::string &text);

/// The kernels that the text, not preprocessed, defines (extern "C" __global__).
std::vector<std::string> kernelNames(const std::string &text);

} // namespace smelt::emulator
