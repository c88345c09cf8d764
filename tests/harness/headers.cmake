# Every header compiles on its own, with nothing included before it. A header
# whose own source file includes it first is proven by the normal build; for
# each of the others a source file of one line is compiled here.
set(headers_root "${PROJECT_BINARY_DIR}/headers")
set(header_sources "")
foreach(root src physics-style)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/${root}"
    "${PROJECT_SOURCE_DIR}/${root}/*.hpp")
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "[.]hpp$" ".cpp" own "${PROJECT_SOURCE_DIR}/${root}/${header}")
    set(first "")
    if(EXISTS "${own}")
      file(STRINGS "${own}" first REGEX "^ *#include" LIMIT_COUNT 1)
    endif()
    if(NOT first MATCHES "\"${header}\"")
      string(REPLACE "/" "_" flat "${header}")
      set(source "${headers_root}/${flat}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n" @ONLY)
      list(APPEND header_sources "${source}")
    endif()
  endforeach()
endforeach()

if(header_sources)
  add_library(headers_self_contained OBJECT EXCLUDE_FROM_ALL ${header_sources})
  target_link_libraries(headers_self_contained PRIVATE lexikos_core)
  # Only whether they compile is asked, and functions of a header need no user.
  set_source_files_properties(${header_sources} PROPERTIES
    COMPILE_OPTIONS "-O0;-Wno-unused-function")
  add_test(NAME portability.headers
    COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target headers_self_contained)
  set_tests_properties(portability.headers PROPERTIES
    LABELS portability RUN_SERIAL ON TIMEOUT 900)
endif()
