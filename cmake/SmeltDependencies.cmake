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
