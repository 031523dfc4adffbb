# Installs the runtime and uses it as strangers do: the examples found by find_package, and one by
# pkg-config, run on a plan.
#
# cmake -D BUILD=<build folder> -D SOURCE=<repository> -D WORK=<folder to work in>
#       -D MAKE_PLAN=<make_test_plan> -D FAKE_DRIVER=<folder of the fake libcuda.so.1>
#       -D GENERATOR=... -D C_COMPILER=... -D CXX_COMPILER=... -P check_consumers.cmake

include(${SOURCE}/tests/consumers.cmake)

# With the fake driver a program must compute the plan; a damaged plan must be refused. Without a
# driver it must say so, which cannot be seen on a machine that has one.
function(check_example program)
  set(fake ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${FAKE_DRIVER})
  check_run(0 "add_scale on Fake GPU\nout \\[16, 16\\] 12 12 12 12" ${fake} ${program} ${WORK}/diamond.plan 16)
  check_run(7 "not a Smelt plan" ${fake} ${program} ${WORK}/damaged.plan)
  check_run(2 "at most 512" ${fake} ${program} ${WORK}/diamond.plan 513)
  if(NOT real_driver)
    check_run(6 "no usable CUDA driver: .*run on the CPU" ${program} ${WORK}/diamond.plan)
  endif()
endfunction()

find_library(real_driver NAMES libcuda.so.1)
run(${MAKE_PLAN} ${WORK}/diamond.plan)
file(WRITE ${WORK}/damaged.plan "no plan")
install_components(runtime)
foreach(language c cpp)
  build_examples(${language} all)
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
