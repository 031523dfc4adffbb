# Compiler settings that every folder shares: warnings as errors, sanitizers, lld, ccache, include root.

find_program(SMELT_CCACHE ccache)
if(SMELT_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${SMELT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SMELT_CCACHE})
  add_compile_options("SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>") # else no precompiled header is found again
endif()

find_program(SMELT_LLD NAMES ld.lld-22)
if(SMELT_LLD)
  add_link_options(--ld-path=${SMELT_LLD})
endif()

if(SMELT_SANITIZE)
  add_compile_options(-fsanitize=${SMELT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(SMELT_SANITIZE MATCHES "address")
    add_compile_options(-fno-sanitize=null,object-size,vptr) # AddressSanitizer stops at these too, and the build is shorter
  endif()
  add_link_options(-fsanitize=${SMELT_SANITIZE})
  # NVRTC gives its threads a signal stack of its own, which AddressSanitizer would take for the one that it made and free.
  file(WRITE ${PROJECT_BINARY_DIR}/sanitizer_options.cmake
       "set(ENV{ASAN_OPTIONS} \"use_sigaltstack=0:\$ENV{ASAN_OPTIONS}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/sanitizer_options.cmake)
endif()

set(SMELT_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)

# smelt_library(name SOURCES ... LINK ...): one static library per folder, includes from the repository root.
function(smelt_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${SMELT_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# smelt_unit_test(target): its own code is not optimised, which makes its compilation take half as long, with sanitizers a third;
# what it tests is optimised as ever.
function(smelt_unit_test target)
  target_compile_options(${target} PRIVATE ${SMELT_WARNINGS} -O0)
endfunction()
