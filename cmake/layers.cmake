# vfiogate_layer(NAME SOURCES... [PUBLIC targets...] [PRIVATE targets...]): one library per folder
# and layer, as vfiogate::NAME. What a layer may include is checked by tests/budget/include_rules.

function(vfiogate_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(vfiogate_${name} STATIC ${arg_SOURCES})
  add_library(vfiogate::${name} ALIAS vfiogate_${name})
  target_include_directories(vfiogate_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(vfiogate_${name}
    PUBLIC ${arg_PUBLIC} vfiogate::hardening
    PRIVATE ${arg_PRIVATE} vfiogate::warnings)
endfunction()

# vfiogate_program(NAME SOURCES... [LINK targets...]): a shipped program, into bin/.
function(vfiogate_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} vfiogate::hardening vfiogate::warnings)
  add_dependencies(programs ${name})
endfunction()
add_custom_target(programs)

if(BUILD_TESTING)
  include(GoogleTest)
endif()
# vfiogate_precompile(NAME): what most cases include is compiled once for all programs of them.
function(vfiogate_precompile name)
  if(NOT VFIOGATE_CASES)
    return()
  endif()
  if(NOT TARGET vfiogate_case_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/case_headers.cc CONTENT "")
    add_library(vfiogate_case_headers OBJECT ${CMAKE_BINARY_DIR}/generated/case_headers.cc)
    # As for a program: which of both it is for is part of it.
    set_target_properties(vfiogate_case_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(vfiogate_case_headers PRIVATE -fPIE)
    target_link_libraries(vfiogate_case_headers PRIVATE GTest::gmock vfiogate::hardening vfiogate::warnings)
    target_precompile_headers(vfiogate_case_headers PRIVATE <chrono> <filesystem> <functional> <map> <optional> <string>
      <vector> <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM vfiogate_case_headers)
endfunction()

# vfiogate_test(NAME SOURCES... LINK targets... LABEL label [TIMEOUT s] [ENV VAR=value...] [APART] [WHOLE]
#   [PROPERTIES name value...]): one GoogleTest program; each of its cases is a test NAME.SUITE.CASE of CTest's.
# TIMEOUT: of a case; three times that with sanitizers. APART: its sources use a name for different things, so they are never compiled in one piece.
# WHOLE: its cases need each other, so the program is one test.
function(vfiogate_test name)
  cmake_parse_arguments(arg "APART;WHOLE" "LABEL;TIMEOUT" "SOURCES;LINK;ENV;PROPERTIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(VFIOGATE_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main
    vfiogate::hardening vfiogate::warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  vfiogate_precompile(${name})
  if(arg_APART)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  # Where the programs and the sources are is said by the test presets.
  set(properties LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} ${arg_PROPERTIES})
  if(arg_ENV)
    list(APPEND properties ENVIRONMENT ${arg_ENV})
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ${properties})
  else()
    # A name is what --gtest_filter takes: without the text of a parameter, which may be long or differ between runs.
    gtest_discover_tests(${name} TEST_PREFIX ${name}. NO_PRETTY_TYPES NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
      PROPERTIES ${properties})
  endif()
  vfiogate_tests_of(${arg_LABEL} ${name})
endfunction()

# vfiogate_tests_of(LABEL targets...): they are built by the target tests_LABEL, too.
function(vfiogate_tests_of label)
  if(NOT TARGET tests_${label})
    add_custom_target(tests_${label})
  endif()
  add_dependencies(tests_${label} ${ARGN})
endfunction()

# vfiogate_fuzz(NAME SOURCES... LINK targets...): a libFuzzer target, into fuzz/. Seeds, if any, are
# in tests/fuzz/corpus/NAME. The fuzz preset builds these and nothing else.
function(vfiogate_fuzz name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK} vfiogate::hardening vfiogate::warnings)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()
