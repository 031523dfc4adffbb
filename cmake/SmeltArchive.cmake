# Installed archives: one object, in which everything is linked and local but a C API. What lies in it
# meets no other copy in the program.

# smelt_c_archive(<name> <component> KEEP <pattern>... SOURCES ... LINK ...): lib<name>.a, whose functions
# that match a pattern stay visible. Programs link stdc++, m, dl and pthread with it.
function(smelt_c_archive name component)
  cmake_parse_arguments(ARG "" "" "KEEP;SOURCES;LINK" ${ARGN})
  # What every program links anyway stays out of the object: empty archives stand in for it.
  set(stand_ins ${CMAKE_CURRENT_BINARY_DIR}/stand_ins)
  file(MAKE_DIRECTORY ${stand_ins})
  foreach(system m dl pthread rt)
    execute_process(COMMAND ${CMAKE_AR} qc ${stand_ins}/lib${system}.a)
  endforeach()

  add_executable(${name}_object ${ARG_SOURCES})
  target_compile_options(${name}_object PRIVATE ${SMELT_WARNINGS})
  target_include_directories(${name}_object PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
  target_link_libraries(${name}_object PRIVATE ${ARG_LINK})
  set_target_properties(${name}_object PROPERTIES
    SUFFIX .o
    LINKER_LANGUAGE CXX
    LINK_OPTIONS "-r;-nostdlib;-L${stand_ins};--ld-path=${SMELT_LLD};LINKER:--force-group-allocation")

  list(TRANSFORM ARG_KEEP PREPEND --keep-global-symbol= OUTPUT_VARIABLE kept)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/installed)
  set(archive ${folder}/lib${name}.a)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_OBJCOPY} --wildcard ${kept} $<TARGET_FILE:${name}_object> installed/${name}.o
    COMMAND ${CMAKE_AR} qcs ${archive} installed/${name}.o
    DEPENDS ${name}_object WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "Linking lib${name}.a"
    VERBATIM)
  add_custom_target(${name}_archive ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
endfunction()
