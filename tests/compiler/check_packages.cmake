# Makes the packages, unpacks them where nothing else is, and uses them there: each needs libc alone.
#
# cmake -D BUILD=<build folder> -D SOURCE=<repository> -D WORK=<folder to work in>
#       -D FAKE_DRIVER=<folder of the fake libcuda.so.1> -D NVRTC=<folder of NVRTC, or "">
#       -D MAKE_PLAN=<make_test_plan> -D CPACK=<cpack> -D READELF=...
#       -D GENERATOR=... -D C_COMPILER=... -D CXX_COMPILER=... -P check_packages.cmake

include(${SOURCE}/tests/consumers.cmake)

# No file of the tree needs another library than libc's, the packages' own aside.
function(check_needed tree)
  file(GLOB_RECURSE files ${tree}/bin/* ${tree}/lib/*.so.*)
  list(LENGTH files count)
  if(count LESS 3) # the program, the runtime, the fake driver
    message(FATAL_ERROR "${tree} has only ${files}")
  endif()
  foreach(file ${files})
    execute_process(COMMAND ${READELF} -d ${file} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]]*\\]" needed "${dynamic}")
    list(FILTER needed EXCLUDE REGEX "\\[(libc|libm|libdl|libpthread|ld-linux-[a-z0-9-]+)\\.so\\.[0-9]+\\]")
    if(needed)
      message(FATAL_ERROR "${file} needs other libraries: ${needed}")
    endif()
  endforeach()
endfunction()

# What a person would do with the unpacked packages.
function(check_tree tree)
  check_needed(${tree})
  set(smelt ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${NVRTC} SMELT_CACHE_DIR=${WORK}/cache ${tree}/bin/smelt)
  check_run(0 "^[0-9]+\\.[0-9]+\\.[0-9]+\n$" ${smelt} --version)
  check_run(0 "launches of" ${smelt} compile ${SOURCE}/tools/demo/digits_vit.onnx -o ${tree}/digits.plan)
  foreach(file share/man/man1/smelt.1 share/bash-completion/completions/smelt share/zsh/site-functions/_smelt
      share/fish/vendor_completions.d/smelt.fish share/doc/smelt/copyright share/doc/libsmelt-rt/copyright
      include/smelt_compiler.h lib/libsmelt_compiler.a lib/libsmelt_rt.a lib/pkgconfig/smelt.pc)
    if(NOT EXISTS ${tree}/${file})
      message(FATAL_ERROR "${tree} lacks ${file}")
    endif()
  endforeach()
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/c -B ${tree}/c -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${tree} -DCMAKE_C_COMPILER=${C_COMPILER})
  run(${CMAKE_COMMAND} --build ${tree}/c --target host_pointers)
  check_run(0 "out \\[16, 16\\] 12 12 12 12" ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${FAKE_DRIVER}
    ${tree}/c/host_pointers ${WORK}/diamond.plan 16)
endfunction()

# check_depends(<package> <regex>): the .deb depends on that and on nothing else.
function(check_depends name pattern)
  file(GLOB package ${WORK}/packages/${name}_*.deb)
  execute_process(COMMAND dpkg-deb -f ${package} Depends OUTPUT_VARIABLE depends
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT depends MATCHES "^libc6 \\(>= [0-9.]+\\)${pattern}$")
    message(FATAL_ERROR "${name} depends on: ${depends}")
  endif()
endfunction()

# check_contents(<package> HAS <file>... LACKS <regex>...): as .deb and as .tar.gz alike.
function(check_contents name)
  cmake_parse_arguments(PARSE_ARGV 1 it "" "" "HAS;LACKS")
  file(GLOB deb ${WORK}/packages/${name}_*.deb)
  execute_process(COMMAND dpkg-deb --fsys-tarfile ${deb} COMMAND tar -t OUTPUT_VARIABLE in_deb COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB tarball ${WORK}/packages/${name}-[0-9]*.tar.gz)
  execute_process(COMMAND tar -tzf ${tarball} OUTPUT_VARIABLE in_tarball COMMAND_ERROR_IS_FATAL ANY)
  foreach(list in_deb in_tarball)
    foreach(file ${it_HAS})
      if(NOT ${list} MATCHES "/${file}\n")
        message(FATAL_ERROR "${name} lacks ${file}: ${${list}}")
      endif()
    endforeach()
    foreach(pattern ${it_LACKS})
      if(${list} MATCHES "${pattern}")
        message(FATAL_ERROR "${name} has ${CMAKE_MATCH_0}")
      endif()
    endforeach()
  endforeach()
endfunction()

run(${MAKE_PLAN} ${WORK}/diamond.plan)
run(${CPACK} --config ${BUILD}/CPackConfig.cmake -B ${WORK}/packages)
file(GLOB debs ${WORK}/packages/*.deb)
file(GLOB tarballs ${WORK}/packages/*.tar.gz)
foreach(kind debs tarballs)
  list(LENGTH ${kind} count)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "not three packages: ${${kind}}")
  endif()
endforeach()
check_depends(smelt "")
check_depends(libsmelt-rt "")
check_depends(libsmelt-rt-dev ", libsmelt-rt \\(= [0-9.]+\\)")

check_contents(smelt HAS bin/smelt lib/libsmelt_compiler.a include/smelt_compiler.h share/man/man1/smelt.1
  LACKS "libsmelt_rt" "libcuda" "/smelt\\.h")
check_contents(libsmelt-rt HAS lib/libsmelt_rt.so.1 LACKS "/bin/" "/include/" "\\.a\n" "/cmake/" "libcuda")
check_contents(libsmelt-rt-dev HAS include/smelt.h include/smelt.hpp lib/libsmelt_rt.a lib/smelt/fake_driver/libcuda.so.1
  lib/cmake/smelt/smeltConfig.cmake lib/pkgconfig/smelt.pc LACKS "/bin/" "compiler" "libsmelt_rt\\.so\\.1")

foreach(package ${debs})
  run(dpkg-deb -x ${package} ${WORK}/deb)
endforeach()
check_tree(${WORK}/deb/usr)
file(MAKE_DIRECTORY ${WORK}/tar)
foreach(package ${tarballs})
  run(tar -xzf ${package} -C ${WORK}/tar)
endforeach()
file(GLOB tree ${WORK}/tar/*) # one
check_tree(${tree})
