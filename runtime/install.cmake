# The installed runtime: the shared library (component runtime), and what programs are built with
# (component runtime_dev): headers, the same library as an archive, the fake driver for their tests,
# package files for CMake and pkg-config.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# smelt_shared_library(<target> <version script>): a library that exports what the script says and
# nothing else, and carries its C++ library along, so that programs built with any other one can load it.
function(smelt_shared_library target version_script)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/${version_script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${script} LINKER:--exclude-libs,ALL LINKER:--gc-sections)
  if(NOT SMELT_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:--no-undefined -static-libstdc++ -static-libgcc)
  endif()
endfunction()

add_library(smelt_rt SHARED $<TARGET_OBJECTS:smelt_c_api>)
add_library(smelt::runtime ALIAS smelt_rt)
set_target_properties(smelt_rt PROPERTIES VERSION 1.0.0 SOVERSION 1 EXPORT_NAME runtime)
target_link_libraries(smelt_rt PRIVATE smelt_runtime)
smelt_shared_library(smelt_rt smelt_rt.map)

# It calls itself libcuda.so.1, which is what the runtime opens, and lies in a folder of its own.
add_library(smelt_fake_libcuda SHARED smelt_fake_driver.cpp fake_driver_exports.cpp)
add_library(smelt::fake_driver ALIAS smelt_fake_libcuda)
set_target_properties(smelt_fake_libcuda PROPERTIES
  OUTPUT_NAME cuda
  SOVERSION 1
  EXPORT_NAME fake_driver
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_driver)
target_compile_options(smelt_fake_libcuda PRIVATE ${runtime_options})
target_include_directories(smelt_fake_libcuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(smelt_fake_libcuda PRIVATE smelt_fake_driver)
smelt_shared_library(smelt_fake_libcuda smelt_fake_driver.map)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/smelt)
install(TARGETS smelt_rt EXPORT smeltRuntime
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime_dev)
install(TARGETS smelt_fake_libcuda EXPORT smeltFakeDriver
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/smelt/fake_driver COMPONENT runtime_dev NAMELINK_SKIP)
foreach(export Runtime FakeDriver)
  install(EXPORT smelt${export} NAMESPACE smelt:: DESTINATION ${package_folder} COMPONENT runtime_dev)
endforeach()
install(FILES smelt.h smelt.hpp smelt_fake_driver.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime_dev)

configure_package_config_file(smeltConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smeltConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/smeltConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/smeltConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/smeltConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT runtime_dev)

# From where the .pc files lie to the prefix, so that the installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(package smelt smelt_fake_driver)
  configure_file(${package}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime_dev)
endforeach()

if(NOT SMELT_SANITIZE)
  include(SmeltArchive)
  smelt_c_archive(smelt_rt runtime_dev KEEP smelt_* SOURCES $<TARGET_OBJECTS:smelt_c_api> LINK smelt_runtime)
  configure_file(smeltRuntimeStatic.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smeltRuntimeStatic.cmake @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/smeltRuntimeStatic.cmake
    DESTINATION ${package_folder} COMPONENT runtime_dev)
endif()
