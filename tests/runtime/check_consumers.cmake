# Installs the runtime and uses it as strangers do: the examples found by find_package, and one by
# pkg-config, run on a plan. Without a driver they must say so with exit code 6.
#
# cmake -D BUILD=<build folder> -D SOURCE=<repository> -D WORK=<folder to work in>
#       -D MAKE_PLAN=<make_test_plan> -D GENERATOR=... -D C_COMPILER=... -D CXX_COMPILER=...
#       -P check_consumers.cmake

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGV}\n${output}")
  endif()
endfunction()

# An example must compute the plan, or say that there is no driver; a damaged plan must be refused.
function(check_example program)
  execute_process(COMMAND ${program} ${WORK}/diamond.plan 16
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  set(worked FALSE)
  if(code EQUAL 0 AND output MATCHES "out \\[16, 16\\] 12 12 12 12")
    set(worked TRUE)
  elseif(code EQUAL 6 AND errors MATCHES "no usable CUDA driver: .*run on the CPU")
    set(worked TRUE)
  endif()
  if(NOT worked)
    message(FATAL_ERROR "${program} ended with ${code}\n${output}${errors}")
  endif()
  execute_process(COMMAND ${program} ${WORK}/damaged.plan
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT code EQUAL 7 OR NOT errors MATCHES "not a Smelt plan")
    message(FATAL_ERROR "${program} took a damaged plan: ${code}\n${output}${errors}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${MAKE_PLAN} ${WORK}/diamond.plan)
file(WRITE ${WORK}/damaged.plan "no plan")
run(${CMAKE_COMMAND} --install ${BUILD} --component runtime --prefix ${WORK}/installed)

# Installed trees can be moved.
file(RENAME ${WORK}/installed ${WORK}/prefix)

foreach(language c cpp)
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/${language} -B ${WORK}/${language} -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
  run(${CMAKE_COMMAND} --build ${WORK}/${language})
  check_example(${WORK}/${language}/host_pointers)
endforeach()

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE package ${WORK}/prefix/smelt.pc)
  get_filename_component(folder ${package} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${pkg_config} --cflags --libs smelt
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  get_filename_component(libraries ${folder} DIRECTORY)
  run(${C_COMPILER} -std=c89 -pedantic-errors ${SOURCE}/examples/c/host_pointers.c
    -o ${WORK}/by_pkg_config ${flags} -Wl,-rpath,${libraries})
  check_example(${WORK}/by_pkg_config)
else()
  message(STATUS "no pkg-config: that consumer was not checked")
endif()
