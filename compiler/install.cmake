# The installed compiler: library, headers, package file for CMake.
#
# One archive with one object, in which everything is linked and local but the C API: MLIR, LLVM and
# protobuf meet no other copy in the program. Not a shared library, since Debian's protobuf archive
# holds no position-independent code of which another could be made. Shared libraries can link the archive:
# all that is local needs no more than the code of programs has, once shared_protobuf.cpp is there.

include(GNUInstallDirs)

# What every program links anyway stays out of the object: empty archives stand in for it.
set(stand_ins ${CMAKE_CURRENT_BINARY_DIR}/stand_ins)
file(MAKE_DIRECTORY ${stand_ins})
foreach(system m dl pthread rt)
  execute_process(COMMAND ${CMAKE_AR} qc ${stand_ins}/lib${system}.a)
endforeach()

add_executable(smelt_compiler_object c_api.cpp c_api_interpreter.cpp shared_protobuf.cpp)
set_source_files_properties(shared_protobuf.cpp PROPERTIES COMPILE_OPTIONS -fPIC)
target_compile_options(smelt_compiler_object PRIVATE ${SMELT_WARNINGS})
target_include_directories(smelt_compiler_object PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
target_include_directories(smelt_compiler_object SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(smelt_compiler_object PRIVATE smelt_compiler)
set_target_properties(smelt_compiler_object PROPERTIES
  SUFFIX .o
  LINK_OPTIONS "-r;-nostdlib;-L${stand_ins};--ld-path=${SMELT_LLD};LINKER:--force-group-allocation;LINKER:--wrap=stderr")

set(archive ${CMAKE_CURRENT_BINARY_DIR}/installed/libsmelt_compiler.a)
add_custom_command(
  OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/installed
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=smelt_compile* --keep-global-symbol=smelt_interpreter* $<TARGET_FILE:smelt_compiler_object>
          installed/smelt_compiler.o
  COMMAND ${CMAKE_AR} qcs ${archive} installed/smelt_compiler.o
  DEPENDS smelt_compiler_object WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
  COMMENT "Linking the installed compiler"
  VERBATIM)
add_custom_target(smelt_compiler_archive ALL DEPENDS ${archive})

install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(FILES smelt_compiler.h smelt_compiler.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT compiler)
configure_file(smeltCompiler.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smeltCompiler.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/smeltCompiler.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/smelt COMPONENT compiler)
