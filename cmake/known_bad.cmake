# vfiogate_refuse(PACKAGE VERSION FLAW FROM/BEFORE...): stops where VERSION is at least FROM and less than BEFORE, as
# these have FLAW, a row of docs/security/flaws.openvex.json. A distribution that mends a flaw without another version
# number is not told apart: build there with what it mended, and say so in the row.
function(vfiogate_refuse package version flaw)
  foreach(range ${ARGN})
    string(REPLACE "/" ";" ends ${range})
    list(GET ends 0 from)
    list(GET ends 1 before)
    if(version VERSION_GREATER_EQUAL from AND version VERSION_LESS before)
      message(FATAL_ERROR
        "${package} ${version} has ${flaw} (docs/security/flaws.openvex.json). Install ${before} or later.")
    endif()
  endforeach()
endfunction()

# What the programs read from strangers goes through these.
function(vfiogate_refuse_known_bad capnproto protobuf)
  vfiogate_refuse("Cap'n Proto" ${capnproto} CVE-2022-46149 0.7.0/0.7.1 0.8.0/0.8.1 0.9.0/0.9.2 0.10.0/0.10.3)
  vfiogate_refuse(protobuf ${protobuf} CVE-2022-1941 3.17.0/3.18.3 3.19.0/3.19.5 3.20.0/3.20.2 3.21.0/3.21.6)
endfunction()
