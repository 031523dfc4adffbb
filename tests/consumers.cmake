# What the scripts that use the installed tree as strangers do have in common (check_consumers.cmake
# in runtime/ and compiler/). They are given
#
#   BUILD, SOURCE, WORK       the build folder, the repository, a folder to work in
#   FAKE_DRIVER               the folder of the fake libcuda.so.1
#   GENERATOR, C_COMPILER, CXX_COMPILER

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGV}\n${output}")
  endif()
endfunction()

# check_run(<code> <regex> <command>...): the command ends with the code and prints the regex.
function(check_run expected pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL expected OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${ARGN} ended with ${code}, not ${expected}, or lacks '${pattern}':\n${output}")
  endif()
endfunction()

# install_components(<component>...): to ${WORK}/prefix, of an empty ${WORK}. Installed trees can be moved.
function(install_components)
  foreach(component ${ARGV})
    run(${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${WORK}/installed)
  endforeach()
  file(RENAME ${WORK}/installed ${WORK}/prefix)
endfunction()

# build_examples(<folder> <target>...): those of examples/<folder> that find the installed tree,
# configured with EXAMPLE_OPTIONS.
function(build_examples language)
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/${language} -B ${WORK}/${language} -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix ${EXAMPLE_OPTIONS}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
  run(${CMAKE_COMMAND} --build ${WORK}/${language} --target ${ARGN})
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
