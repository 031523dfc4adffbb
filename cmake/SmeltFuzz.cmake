# Fuzz targets, with the asan preset: libFuzzer, steered by the coverage of the code under test, and one CTest for each.

# smelt_cover(TARGETS...): libraries whose coverage steers the fuzzers.
function(smelt_cover)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp)
  endforeach()
endfunction()

# smelt_fuzz_test(name TEST test RUNS count MAX_BYTES count SOURCES ... LINK ... [MODELS list]): the target, and a test of a fixed
# seed and a number of runs, not of seconds: a change is judged by what it changes, on a fast machine as on a slow one. With MODELS,
# inputs are mutated as models, from the seeds in that list of fuzz_corpus.py. Longer hunts draw their own seed (-seed=0, the default).
function(smelt_fuzz_test name)
  cmake_parse_arguments(ARG "" "TEST;RUNS;MAX_BYTES;MODELS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/fuzz_options.cpp)
  target_compile_options(${name} PRIVATE ${SMELT_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(seeds)
  if(ARG_MODELS)
    target_link_libraries(${name} PRIVATE smelt_model_mutator)
    set(seeds -seed_inputs=@${PROJECT_BINARY_DIR}/tests/frontend/${ARG_MODELS}) # a folder would also take what is found
  endif()
  add_test(NAME ${ARG_TEST} COMMAND ${name} -seed=1 -verbosity=0 -runs=${ARG_RUNS} -timeout=20 -rss_limit_mb=4096
                                    -max_len=${ARG_MAX_BYTES} -print_final_stats=1 ${seeds})
  set_tests_properties(${ARG_TEST} PROPERTIES LABELS cpu)
  if(ARG_MODELS)
    set_tests_properties(${ARG_TEST} PROPERTIES FIXTURES_REQUIRED fuzz_corpus)
  endif()
endfunction()
