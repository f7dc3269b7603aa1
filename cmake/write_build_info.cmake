# cmake -DSOURCE=DIR -DVERSION=V -DOUT=FILE -P write_build_info.cmake: writes the source of kBuild, unless
# it says that already. The commit is git's word; in a tree without .git that of cmake/source_commit,
# which `git archive` fills in; else it is unknown.
cmake_minimum_required(VERSION 3.25)

function(ask_git variable)
  execute_process(COMMAND git --no-optional-locks -c safe.directory=${SOURCE} -C ${SOURCE} ${ARGN}
    OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(${variable} "${said}" PARENT_SCOPE)
  endif()
endfunction()

set(said "")
if(EXISTS ${SOURCE}/.git)
  ask_git(commit describe --always --dirty --abbrev=40 --exclude=*)
  ask_git(epoch log -1 --format=%ct)
  set(said "${commit} ${epoch}")
elseif(EXISTS ${SOURCE}/cmake/source_commit)
  file(READ ${SOURCE}/cmake/source_commit said)
endif()
set(commit unknown)
set(date unknown)
if(said MATCHES "^([0-9a-f]+(-dirty)?) ([0-9]+)")
  set(commit ${CMAKE_MATCH_1})
  set(epoch ${CMAKE_MATCH_3})
  if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
    set(ENV{SOURCE_DATE_EPOCH} ${epoch})
  endif()
endif()
if(NOT "$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  string(TIMESTAMP date "%Y-%m-%dT%H:%M:%SZ" UTC)  # of SOURCE_DATE_EPOCH
endif()

file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#include "ipc/base/build_info.h"

namespace vfiogate {

const BuildInfo kBuild{"@VERSION@", "@commit@", "@date@", "@VERSION@ (commit @commit@, @date@)"};

}  // namespace vfiogate
]])
