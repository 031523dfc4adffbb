# The installed compiler: library, headers, package file for CMake.
#
# An archive and not a shared library, since Debian's protobuf archive holds no position-independent
# code. MLIR, LLVM and protobuf meet no other copy in the program.

include(GNUInstallDirs)
include(SmeltArchive)

smelt_c_archive(smelt_compiler compiler KEEP smelt_compile* SOURCES c_api.cpp LINK smelt_compiler)
install(FILES smelt_compiler.h smelt_compiler.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT compiler)
configure_file(smeltCompiler.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smeltCompiler.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/smeltCompiler.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/smelt COMPONENT compiler)
