# `cmake --install`: what goes where, in five components.
#   tool        privd, the command, and its completions
#   daemon      privd's processes, their units, their options
#   plugin      plugind and netd, for a host that runs them without a container
#   docs        manuals, pages, examples, the licence
#   simulators  kubelet-sim, sim-sysfs, sim-node, where they are built
# What says /usr/bin in a unit says the directory of the programs once installed, so that another prefix works.

# The manuals and units name /etc/vfiogate, whatever the prefix.
set(CMAKE_INSTALL_SYSCONFDIR /etc CACHE PATH "Where privd's options are: the manuals say /etc")
include(GNUInstallDirs)

install(TARGETS privd COMPONENT tool)
install(TARGETS privd-daemon privd-hardware privd-gate privd-binder privd-iommufd COMPONENT daemon)
install(TARGETS plugind netd COMPONENT plugin)
if(VFIOGATE_SIMULATORS)
  install(TARGETS kubelet-sim sim-sysfs sim-node COMPONENT simulators)
  install(FILES sim/kubelet_program/README.md RENAME kubelet-sim.md
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vfiogate/simulators COMPONENT simulators)
  install(FILES sim/sysfs/README.md RENAME sim-sysfs.md
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vfiogate/simulators COMPONENT simulators)
  install(DIRECTORY tests/topologies DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vfiogate/simulators
    COMPONENT simulators FILES_MATCHING PATTERN "*.yaml")
endif()

set(programs_at "${CMAKE_INSTALL_BINDIR}")
if(NOT IS_ABSOLUTE "${programs_at}")
  set(programs_at "\${CMAKE_INSTALL_PREFIX}/${programs_at}")
endif()
# vfiogate_install_unit(NAME): a unit of deploy/debian, with the programs' directory.
function(vfiogate_install_unit name)
  install(CODE "
    file(READ \"${CMAKE_SOURCE_DIR}/deploy/debian/${name}\" text)
    string(REPLACE \"/usr/bin/\" \"${programs_at}/\" text \"\${text}\")
    file(WRITE \"${CMAKE_BINARY_DIR}/install/${name}\" \"\${text}\")
    file(INSTALL \"${CMAKE_BINARY_DIR}/install/${name}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\"
      PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)" COMPONENT daemon)
endfunction()
foreach(unit vfiogate-hardware.service vfiogate-gate.service vfiogate-binder.service
        vfiogate-iommufd.service vfiogate-privd-early.service vfiogate.target)
  vfiogate_install_unit(${unit})
endforeach()
foreach(kind sysusers tmpfiles)
  install(FILES deploy/debian/vfiogate.${kind} RENAME vfiogate.conf DESTINATION lib/${kind}.d COMPONENT daemon)
endforeach()
install(FILES deploy/debian/vfiogate.modules-load RENAME vfiogate.conf DESTINATION lib/modules-load.d COMPONENT daemon)
install(FILES deploy/debian/privd.conf DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/vfiogate COMPONENT daemon)

install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vfiogate COMPONENT docs)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vfiogate COMPONENT docs
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "recording" EXCLUDE PATTERN "walk" EXCLUDE)
install(DIRECTORY deploy/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vfiogate/deploy COMPONENT docs)

# Made from the programs' own --help, so by running them: not where they are for another machine.
find_program(HELP2MAN help2man)
find_package(Python3 QUIET COMPONENTS Interpreter)
# vfiogate_install_manuals(COMPONENT PROGRAM...)
function(vfiogate_install_manuals component)
  set(out ${CMAKE_BINARY_DIR}/install/man-${component})
  install(CODE "
    file(REMOVE_RECURSE \"${out}\")
    execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/deploy/debian/manuals.py\"
      --programs \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}\" --out \"${out}\" ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL \"${out}/\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)" COMPONENT ${component})
endfunction()
# vfiogate_install_completion(SHELL FILE)
function(vfiogate_install_completion shell file)
  get_filename_component(name ${file} NAME)
  get_filename_component(directory ${file} DIRECTORY)
  set(out ${CMAKE_BINARY_DIR}/install/${shell}/${name})
  install(CODE "
    file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/install/${shell}\")
    execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/deploy/debian/completion.py\"
      ${shell} \"$<TARGET_FILE:privd>\" OUTPUT_FILE \"${out}\" COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL \"${out}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${directory}\"
      PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)" COMPONENT tool)
endfunction()
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  vfiogate_install_completion(bash bash-completion/completions/privd)
  vfiogate_install_completion(zsh zsh/site-functions/_privd)
  vfiogate_install_completion(fish fish/vendor_completions.d/privd.fish)
  if(HELP2MAN)
    vfiogate_install_manuals(docs)
    if(VFIOGATE_SIMULATORS)
      vfiogate_install_manuals(simulators kubelet-sim sim-sysfs sim-node)
    endif()
  else()
    message(STATUS "No manuals will be installed: help2man is missing. Install it with: apt-get install help2man")
  endif()
endif()
