# The installed library is small, exports the C API and nothing else, and needs neither LLVM nor
# protobuf nor a CUDA library.
#
# cmake -D LIBRARY=libsmelt_rt.so -D WORK=<folder> -D STRIP=... -D NM=... -D READELF=...
#       -P check_library.cmake

set(MAX_BYTES 1000000)

file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${STRIP} -o ${WORK}/stripped.so ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${WORK}/stripped.so bytes)
if(bytes GREATER_EQUAL MAX_BYTES)
  message(FATAL_ERROR "the stripped library has ${bytes} bytes, it must have less than ${MAX_BYTES}")
endif()
message(STATUS "the stripped library has ${bytes} bytes")

# symbols(<kind> <variable>): names of the library's dynamic symbols.
function(symbols kind variable)
  execute_process(COMMAND ${NM} -D ${kind} --format=just-symbols ${LIBRARY}
    OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" names "${output}")
  set(${variable} ${names} PARENT_SCOPE)
endfunction()

symbols(--defined-only defined)
list(FILTER defined EXCLUDE REGEX "^(smelt_[a-z_]+|SMELT_1)(@.*)?$")
if(defined)
  message(FATAL_ERROR "the library exports more than its C API: ${defined}")
endif()
symbols(--undefined-only undefined)
list(FILTER undefined INCLUDE REGEX "^(_ZN?K?4(llvm|mlir)|_ZN?K?6google|cu[A-Z]|cuda[A-Z]|nvrtc)")
if(undefined)
  message(FATAL_ERROR "the library needs: ${undefined}")
endif()

execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]]*\\]" needed "${dynamic}")
list(FILTER needed EXCLUDE REGEX "\\[(libc|libm|libdl|libpthread|ld-linux-[a-z0-9-]+)\\.so\\.[0-9]+\\]")
if(needed)
  message(FATAL_ERROR "the library needs other libraries: ${needed}")
endif()
if(NOT dynamic MATCHES "SONAME[^\n]*\\[libsmelt_rt\\.so\\.1\\]")
  message(FATAL_ERROR "the library's SONAME is not libsmelt_rt.so.1")
endif()
