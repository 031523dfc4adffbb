// The archives of LLVM are built without AddressSanitizer. In a sanitized build their headers would
// poison memory that the archives' code then uses freely; this makes the headers see what the
// archives are. Included first in every C++ file; some have no LLVM.
#pragma once

#if __has_include("llvm/Support/Compiler.h")
#include "llvm/Support/Compiler.h"
#endif

#if LLVM_ADDRESS_SANITIZER_BUILD
#undef LLVM_ADDRESS_SANITIZER_BUILD
#define LLVM_ADDRESS_SANITIZER_BUILD 0
#define __asan_poison_memory_region(pointer, size)
#define __asan_unpoison_memory_region(pointer, size)
#endif
