# Packages by CPack, as .deb and .tar.gz: `smelt` (the program, its manual, the compiler's library),
# `libsmelt-rt` (the runtime) and `libsmelt-rt-dev` (headers, archive, fake driver, CMake and pkg-config files).
#   cpack --config build/release/CPackConfig.cmake -B <folder>

# smelt_copyright(<component> <package> <Debian package>...): the licence, and those of the libraries that lie in its files.
function(smelt_copyright component package)
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${folder} RENAME copyright COMPONENT ${component})
  foreach(library ${ARGN})
    install(FILES /usr/share/doc/${library}/copyright DESTINATION ${folder} RENAME copyright.${library}
      COMPONENT ${component} OPTIONAL)
  endforeach()
endfunction()

set(runtime_libraries libflatbuffers-dev libxxhash-dev)
smelt_copyright(runtime libsmelt-rt ${runtime_libraries})
smelt_copyright(runtime_dev libsmelt-rt-dev ${runtime_libraries})
set(CPACK_COMPONENTS_ALL runtime runtime_dev)
if(NOT SMELT_RUNTIME_ONLY)
  smelt_copyright(compiler smelt ${runtime_libraries} llvm-22-dev libmlir-22-dev libprotobuf-dev libeigen3-dev
    libcli11-dev zlib1g-dev libzstd-dev libminizip-dev)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
endif()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR Smelt)
set(CPACK_PACKAGE_CONTACT "Smelt's developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compiles ONNX models into a few fused CUDA kernels")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/archive_layout.cmake)

# smelt_package(<component> <name> <section> <summary> [<other Debian packages that it depends on>])
macro(smelt_package component name section summary)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}")
  set(CPACK_ARCHIVE_${upper}_FILE_NAME ${name}-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
  string(JOIN ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${libc}" ${ARGN})
endmacro()

execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "glibc ([0-9.]+)" "libc6 (>= \\1)" libc "${libc}")
smelt_package(runtime libsmelt-rt libs "Runs models that Smelt compiled; opens the CUDA driver at run time")
smelt_package(runtime_dev libsmelt-rt-dev libdevel "Headers and libraries to build and test programs with Smelt"
  "libsmelt-rt (= ${PROJECT_VERSION})")
if(NOT SMELT_RUNTIME_ONLY)
  smelt_package(compiler smelt science "Compiles ONNX models into a few fused CUDA kernels; opens NVRTC at run time")
  set(CPACK_DEBIAN_COMPILER_PACKAGE_SUGGESTS libsmelt-rt-dev) # for the library's header includes the runtime's
endif()
include(CPack)
