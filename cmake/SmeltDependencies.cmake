# Where tools/setup.sh puts what it cannot take from Debian: a Python environment, and in it CUDA's
# headers where the machine has no CUDA toolkit.

set(smelt_venv ${PROJECT_SOURCE_DIR}/build/venv)
if(NOT Python3_EXECUTABLE AND EXISTS ${smelt_venv}/bin/python)
  set(Python3_EXECUTABLE ${smelt_venv}/bin/python CACHE FILEPATH "Python with the tests' packages")
endif()

file(GLOB smelt_cuda_wheels ${smelt_venv}/lib/python3*/site-packages/nvidia/cu13/include)
find_path(SMELT_CUDA_INCLUDE_DIR cuda.h HINTS /usr/local/cuda/include ${smelt_cuda_wheels}
          DOC "Folder of CUDA 13's cuda.h")
if(NOT SMELT_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "cuda.h of CUDA 13 was not found: run tools/setup.sh, or set SMELT_CUDA_INCLUDE_DIR")
endif()

# JavaScript of the page that `smelt report` writes.
file(GLOB smelt_bundles ${smelt_venv}/lib/python3*/site-packages/netron)
if(NOT SMELT_RUNTIME_ONLY)
  find_file(SMELT_DAGRE dagre.js HINTS ${smelt_bundles} NO_DEFAULT_PATH DOC "dagre, as the wheel of netron has it")
  find_path(SMELT_HIGHLIGHT highlight.js HINTS /usr/share/nodejs/highlight.js/lib NO_DEFAULT_PATH DOC "Folder of highlight.js")
  if(NOT SMELT_DAGRE OR NOT SMELT_HIGHLIGHT)
    message(FATAL_ERROR "dagre.js or highlight.js was not found: run tools/setup.sh, or set SMELT_DAGRE and SMELT_HIGHLIGHT")
  endif()
endif()
