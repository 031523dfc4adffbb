# Installs everything and compiles a model in process as strangers do, from C89 and C++17, on the
# fake driver; the runtime alone stays free of the compiler.
#
# cmake -D BUILD=<build folder> -D SOURCE=<repository> -D WORK=<folder to work in>
#       -D FAKE_DRIVER=<folder of the fake libcuda.so.1> -D NVRTC=<folder of NVRTC, or "">
#       -D GENERATOR=... -D C_COMPILER=... -D CXX_COMPILER=... -D NM=... -P check_consumers.cmake

include(${SOURCE}/tests/consumers.cmake)

install_components(runtime runtime_dev compiler)
find_library(real_driver NAMES libcuda.so.1)
set(model ${SOURCE}/tools/demo/digits_vit.onnx)
set(fake ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${FAKE_DRIVER}:${NVRTC})
foreach(language c cpp)
  build_examples(${language} compile_model)
  check_run(0 "import: 1 of 1\nsimplify: 1 of 1\nraise: 1 of 1\nfuse: 1 of 1\nlower: 1 of 1\nkernels: 1 of .*ran on Fake GPU"
    ${fake} ${WORK}/${language}/compile_model ${model})
  check_run(2 "cannot be opened" ${fake} ${WORK}/${language}/compile_model ${WORK}/missing.onnx)
endforeach()
if(NOT real_driver) # without the fake one there is none
  set(on_cpu ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${NVRTC})
  check_run(0 "on the CPU, which is slower by far: no usable CUDA driver.*logits \\[3, 10\\]\nrun: 1 of.*ran on cpu, "
    ${on_cpu} ${WORK}/c/compile_model ${model} 3)
  check_run(0 "on the CPU, which is slower by far.*logits: 40 bytes\nrun: 1 of.*ran on cpu, " ${on_cpu} ${WORK}/cpp/compile_model ${model})
endif()
check_run(5 "stopped" ${fake} ${WORK}/cpp/compile_model ${model} stop)
file(WRITE ${WORK}/broken.onnx "no model")
check_run(3 "broken.onnx" ${fake} ${WORK}/c/compile_model ${WORK}/broken.onnx)

# Nothing but the C API can meet another library's symbols.
file(GLOB_RECURSE archive ${WORK}/prefix/libsmelt_compiler.a)
execute_process(COMMAND ${NM} -g --defined-only --format=just-symbols ${archive}
  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" defined "${output}")
list(FILTER defined EXCLUDE REGEX "^smelt_compile[a-z_]*$|smelt_compiler.o:$")
if(defined)
  message(FATAL_ERROR "the archive defines more than the C API: ${defined}")
endif()

# The runtime is looked for, not linked: what compiles alone needs none, and another version is refused.
foreach(runtime none 0.0.1)
  set(program ${WORK}/cpu_engine_${runtime})
  if(runtime STREQUAL none)
    set(expected "link smelt::runtime")
    set(options)
  else()
    set(expected "the runtime is of version 0.0.1, the compiler of ")
    set(options -DVERSION="${runtime}")
  endif()
  run(${C_COMPILER} -std=c99 ${options} -I${WORK}/prefix/include ${SOURCE}/tests/compiler/other_runtime.c
    ${archive} -o ${program} -lstdc++ -lm -ldl -lpthread)
  check_run(2 "${expected}" ${program} ${model})
endforeach()
