# MLIR and LLVM from Debian's packages, linked statically.
#
# Debian's MLIR targets name the LLVM shared library. Each MLIR target's link to `LLVM` is replaced by
# LLVM's component archives, so that the tools need nothing but libc and libm at run time.

set(SMELT_LLVM_DIR /usr/lib/llvm-22 CACHE PATH "Root of the LLVM and MLIR installation")
find_package(LLVM 22.1 REQUIRED CONFIG PATHS ${SMELT_LLVM_DIR}/lib/cmake/llvm NO_DEFAULT_PATH)
find_package(MLIR REQUIRED CONFIG PATHS ${SMELT_LLVM_DIR}/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

llvm_map_components_to_libnames(SMELT_LLVM_LIBRARIES Support Core TargetParser Demangle BinaryFormat Remarks)
get_property(mlir_targets DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} PROPERTY IMPORTED_TARGETS)
foreach(target IN LISTS mlir_targets)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(links MATCHES "(^|;)LLVM(;|$)")
    list(REMOVE_ITEM links LLVM)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links};${SMELT_LLVM_LIBRARIES}")
  endif()
endforeach()

if(SMELT_SANITIZE MATCHES "address")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-include${PROJECT_SOURCE_DIR}/cmake/llvm_unsanitized.h>)
endif()

# Headers of MLIR are heavy: everything that faces it reuses a precompiled header, which holds our own heavy ones too (the
# dialect's ops take a second to parse, the plan's format another). That a file can see them does not mean that its folder
# may use them: tools/check_layers reads what the files include.
set(SMELT_PRECOMPILED
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/BuiltinAttributes.h>
    <mlir/IR/Dialect.h> <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
    <mlir/IR/MLIRContext.h> <mlir/IR/Matchers.h> <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Bytecode/BytecodeOpInterface.h>
    <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h>
    <mlir/Parser/Parser.h>
    <llvm/ADT/TypeSwitch.h> <llvm/ADT/StringExtras.h> <llvm/ADT/DenseMap.h> <llvm/Support/FileSystem.h>
    <llvm/Support/JSON.h>
    <algorithm> <functional> <map> <memory> <optional> <string> <vector>
    ${PROJECT_SOURCE_DIR}/ir/dialect.h ${PROJECT_SOURCE_DIR}/runtime/plan_format.h)

# smelt_precompiled_headers(name HEADERS...): a library that owns one precompiled header and its compile options.
function(smelt_precompiled_headers name)
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp "// Owns precompiled headers.\n")
  add_library(${name} STATIC ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${SMELT_WARNINGS})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  add_dependencies(${name} smelt_ir_tablegen smelt_plan_format_header)
endfunction()

smelt_precompiled_headers(smelt_headers ${SMELT_PRECOMPILED})
find_package(GTest REQUIRED)
smelt_precompiled_headers(smelt_test_headers ${SMELT_PRECOMPILED} <gtest/gtest.h> <gmock/gmock.h>)
smelt_unit_test(smelt_test_headers)
target_link_libraries(smelt_test_headers PRIVATE GTest::gtest)

# smelt_faces_mlir(target): the target includes MLIR; smelt_mlir_test(target): it is a unit test that does, with GoogleTest.
function(smelt_faces_mlir target)
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_precompile_headers(${target} REUSE_FROM smelt_headers)
endfunction()
function(smelt_mlir_test target)
  smelt_unit_test(${target})
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_precompile_headers(${target} REUSE_FROM smelt_test_headers)
endfunction()

# smelt_mlir_library(name SOURCES ... LINK ...): a folder's library that includes MLIR.
function(smelt_mlir_library name)
  smelt_library(${name} ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_precompile_headers(${name} REUSE_FROM smelt_headers)
endfunction()

# LLVMSupport's own dependencies: the static archives of zlib and zstd, and no Z3 (nothing here uses LLVM's solver).
get_target_property(support_links LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER support_links EXCLUDE REGEX "z3|Z3|ZLIB|zstd")
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${support_links};-l:libz.a;-l:libzstd.a;-ldl")
add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
