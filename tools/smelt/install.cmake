# The installed program, and what it writes of itself: its manual page and the completions of shells.

include(GNUInstallDirs)

install(TARGETS smelt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)

# smelt_help(<format> <file> <folder>): what `smelt help <format>` prints, installed as the file.
function(smelt_help format file folder)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/help/${format}/${file})
  add_custom_command(
    OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/help/${format}
    COMMAND smelt help ${format} > ${path}
    DEPENDS smelt
    COMMENT "Writing smelt's help (${format})"
    VERBATIM)
  add_custom_target(smelt_help_${format} ALL DEPENDS ${path})
  install(FILES ${path} DESTINATION ${folder} COMPONENT compiler)
endfunction()

smelt_help(man smelt.1 ${CMAKE_INSTALL_MANDIR}/man1)
smelt_help(bash smelt ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
smelt_help(zsh _smelt ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
smelt_help(fish smelt.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
