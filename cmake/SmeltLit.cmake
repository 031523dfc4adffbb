# Tests of text: .mlir files run through smelt-opt and FileCheck by lit.

find_program(SMELT_LIT NAMES lit-22 lit PATHS ${SMELT_LLVM_DIR}/bin REQUIRED)
find_program(SMELT_FILECHECK NAMES FileCheck-22 FileCheck PATHS ${SMELT_LLVM_DIR}/bin REQUIRED)
find_program(SMELT_NOT NAMES not-22 not PATHS ${SMELT_LLVM_DIR}/bin REQUIRED)

# smelt_lit_test(name): every .mlir of the current folder, as the one test `name.lit`.
function(smelt_lit_test name)
  add_test(NAME ${name}.lit
           COMMAND ${SMELT_LIT} -v ${CMAKE_CURRENT_SOURCE_DIR}
                   --param smelt-opt=$<TARGET_FILE:smelt-opt> --param FileCheck=${SMELT_FILECHECK}
                   --param not=${SMELT_NOT} --param exec_root=${CMAKE_CURRENT_BINARY_DIR}/lit)
endfunction()
