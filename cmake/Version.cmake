# cmake -D SOURCE=<tree> -D OUTPUT=<version.cpp> -P Version.cmake
# Writes the source file that names the commit; leaves it alone when the commit
# is the same, so that nothing is compiled again.
cmake_minimum_required(VERSION 3.22)
set(git unknown)
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" describe --always --dirty
    RESULT_VARIABLE status OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(status EQUAL 0 AND text)
    set(git "${text}")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
"#include \"version.hpp\"

namespace lexikos::version {
const char* const git = \"@git@\";
}
")
