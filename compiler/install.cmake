# The installed compiler: library, headers, package file for CMake.
#
# One archive with one object, in which everything is linked and local but the C API: MLIR, LLVM and
# protobuf meet no other copy in the program. Not a shared library, since Debian's protobuf archive
# holds no position-independent code of which another could be made. Shared libraries can link the archive:
# all that is local needs no more than the code of programs has, once shared_protobuf.cpp is there.

include(GNUInstallDirs)
include(SmeltArchive)

smelt_c_archive(smelt_compiler compiler KEEP smelt_compile*
  SOURCES $<TARGET_OBJECTS:smelt_compiler_c_api> shared_protobuf.cpp LINK smelt_compiler)
set_source_files_properties(shared_protobuf.cpp PROPERTIES COMPILE_OPTIONS -fPIC)
target_include_directories(smelt_compiler_object SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
set_property(TARGET smelt_compiler_object APPEND PROPERTY LINK_OPTIONS LINKER:--wrap=stderr)
install(FILES smelt_compiler.h smelt_compiler.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT compiler)
configure_file(smeltCompiler.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smeltCompiler.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/smeltCompiler.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/smelt COMPONENT compiler)
