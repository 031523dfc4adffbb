# The installed runtime: library, headers, package files for CMake and pkg-config.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Exports the C API and nothing else; carries its C++ library along, so that programs built with any
# other one can load it.
add_library(smelt_rt SHARED $<TARGET_OBJECTS:smelt_c_api>)
add_library(smelt::runtime ALIAS smelt_rt)
set_target_properties(smelt_rt PROPERTIES
  VERSION 1.0.0
  SOVERSION 1
  EXPORT_NAME runtime
  LINKER_LANGUAGE CXX)
target_include_directories(smelt_rt INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(smelt_rt PRIVATE smelt_runtime)
set(version_script ${CMAKE_CURRENT_SOURCE_DIR}/smelt_rt.map)
set_property(TARGET smelt_rt APPEND PROPERTY LINK_DEPENDS ${version_script})
target_link_options(smelt_rt PRIVATE
  LINKER:--version-script=${version_script} LINKER:--exclude-libs,ALL LINKER:--gc-sections)
if(NOT SMELT_SANITIZE)
  target_link_options(smelt_rt PRIVATE LINKER:--no-undefined -static-libstdc++ -static-libgcc)
endif()

# The same as an archive, for programs and libraries that carry the runtime along; they link the C++ library.
add_library(smelt_rt_static STATIC
  $<TARGET_OBJECTS:smelt_c_api> $<TARGET_OBJECTS:smelt_runtime> $<TARGET_OBJECTS:smelt_plan_format>)
set_target_properties(smelt_rt_static PROPERTIES OUTPUT_NAME smelt_rt EXPORT_NAME runtime_static LINKER_LANGUAGE CXX)
target_include_directories(smelt_rt_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(smelt_rt_static INTERFACE stdc++ m dl pthread)

install(TARGETS smelt_rt_static EXPORT smeltRuntime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS smelt_rt EXPORT smeltRuntime
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime)
install(FILES smelt.h smelt.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/smelt)
install(EXPORT smeltRuntime NAMESPACE smelt:: DESTINATION ${package_folder} COMPONENT runtime)
configure_package_config_file(smeltConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smeltConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/smeltConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/smeltConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/smeltConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT runtime)

# From where smelt.pc lies to the prefix, so that the installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(smelt.pc.in ${CMAKE_CURRENT_BINARY_DIR}/smelt.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/smelt.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
