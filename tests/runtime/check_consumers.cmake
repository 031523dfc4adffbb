# Installs the runtime and uses it as strangers do: the examples found by find_package, among them an
# application's tests on the installed fake driver, and one by pkg-config, run on a plan.
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
run(${MAKE_PLAN} ${WORK}/portable.plan ptx)
install_components(runtime runtime_dev)
foreach(language c cpp)
  build_examples(${language} all)
  check_example(${WORK}/${language}/host_pointers)
endforeach()
check_example(${WORK}/c/host_pointers_static)
execute_process(COMMAND ldd ${WORK}/c/host_pointers_static OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
if(needed MATCHES "smelt_rt")
  message(FATAL_ERROR "the program that links the archive needs the shared library: ${needed}")
endif()

# An application that tests itself with the installed fake driver. Its programs find that by themselves.
set(EXAMPLE_OPTIONS -DPLAN=${WORK}/portable.plan)
build_examples(ci all)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/ci --output-on-failure --no-tests=error)
# A program that knows nothing of it.
check_run(0 "add_scale on Fake GPU\nout \\[4, 4\\] -" ${CMAKE_COMMAND} -E env
  LD_LIBRARY_PATH=${WORK}/prefix/lib/smelt/fake_driver ${WORK}/c/host_pointers ${WORK}/portable.plan 4)

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

  file(WRITE ${WORK}/fake.c "#include <smelt_fake_driver.h>\nint main(void) { return smelt_fake_driver_fail_call(\"cuMemAlloc\", 7, 2, 0); }\n")
  execute_process(COMMAND ${pkg_config} --cflags --libs smelt_fake_driver
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${C_COMPILER} -std=c89 -pedantic-errors ${WORK}/fake.c -o ${WORK}/fake_by_pkg_config
    ${flags} -Wl,-rpath,${libraries})
  check_run(0 "" ${WORK}/fake_by_pkg_config)
else()
  message(STATUS "no pkg-config: that consumer was not checked")
endif()
