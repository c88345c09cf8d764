# lexikos_add_test and lexikos_add_python_test: see tests/harness/README.md.

# Launcher. Not binding: mpirun would put the threads of a rank on one core.
set(LEXIKOS_MPIRUN ${MPIEXEC_EXECUTABLE})
if(LEXIKOS_OPEN_MPI)
  list(APPEND LEXIKOS_MPIRUN --bind-to none --oversubscribe)
  execute_process(COMMAND id -u OUTPUT_VARIABLE user_id OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(user_id STREQUAL "0")
    list(APPEND LEXIKOS_MPIRUN --allow-run-as-root)
  endif()
endif()

# For every test. Threads and ranks that wait must not spin: on a machine that
# does something else besides, the suite would take five times as long. Containers
# forbid one process to read another's memory, which Open MPI reports loudly.
# Open MPI else looks for networks at every start, and sleeps a second before it ends the ranks of a
# failed job: together most of a short run's time.
# MPI and Python keep memory until exit, so leaks are not looked for; two tests preload a library.
set(LEXIKOS_TEST_ENVIRONMENT
  OMP_PROC_BIND=false
  OMP_WAIT_POLICY=passive
  OMPI_MCA_btl_vader_single_copy_mechanism=none
  OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_pml=ob1
  OMPI_MCA_odls_base_sigkill_timeout=0
  ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
  UBSAN_OPTIONS=print_stacktrace=1)

# Every test program shares one compiled main, which holds Catch2's own code.
add_library(lexikos_test_main OBJECT "${CMAKE_CURRENT_LIST_DIR}/main.cpp")
target_include_directories(lexikos_test_main PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(lexikos_test_main PUBLIC Catch2::Catch2 lexikos_core)
# Optimising Catch2 itself takes long and gains nothing. As a property of the
# file, because that comes last on the command line.
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/main.cpp" PROPERTIES COMPILE_OPTIONS -O0)

# Usage: lexikos_add_test(NAME name SOURCES file... [RANKS n...] [LABELS l...]
#                         [TIMEOUT seconds])
function(lexikos_add_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "SOURCES;RANKS;LABELS" ${ARGN})
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lexikos_add_test needs NAME and SOURCES; not understood: "
      "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()

  add_executable(test_${arg_NAME} ${arg_SOURCES})
  target_link_libraries(test_${arg_NAME} PRIVATE lexikos_core lexikos_test_main)

  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  foreach(ranks IN LISTS arg_RANKS)
    math(EXPR threads "2 / ${ranks}")
    if(LEXIKOS_EMULATE_DEVICE)
      set(threads 2)  # lanes of a team
    endif()
    if(threads LESS 1)
      set(threads 1)
    endif()
    math(EXPR processors "${ranks} * ${threads}")
    set(test ${folder}.${arg_NAME}.np${ranks})
    add_test(NAME ${test}
      COMMAND ${LEXIKOS_MPIRUN} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:test_${arg_NAME}>)
    set_tests_properties(${test} PROPERTIES
      ENVIRONMENT "OMP_NUM_THREADS=${threads};${LEXIKOS_TEST_ENVIRONMENT}"
      LABELS "${folder};${arg_LABELS}"
      PROCESSORS ${processors} TIMEOUT ${arg_TIMEOUT})
  endforeach()
endfunction()

# Usage: lexikos_add_python_test(NAME name SCRIPT file.py [ARGS a...]
#                                [LABELS l...] [TIMEOUT seconds] [PROCESSORS n])
function(lexikos_add_python_test)
  cmake_parse_arguments(arg "" "NAME;SCRIPT;TIMEOUT;PROCESSORS" "ARGS;LABELS" ${ARGN})
  if(NOT arg_NAME OR NOT arg_SCRIPT OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lexikos_add_python_test needs NAME and SCRIPT; not understood: "
      "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT LEXIKOS_PYTHON)
    message(WARNING "no Python with numpy and h5py: test ${arg_NAME} is left out\n"
      "  type: cmake/bootstrap.sh, or pass -DLEXIKOS_PYTHON=<interpreter>")
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(test ${folder}.${arg_NAME})
  list(JOIN LEXIKOS_MPIRUN " " mpirun)
  add_test(NAME ${test}
    COMMAND ${LEXIKOS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT "LEXIKOS_EXE=${PROJECT_BINARY_DIR}/lexikos;LEXIKOS_SOURCE_DIR=${PROJECT_SOURCE_DIR};LEXIKOS_MPIRUN=${mpirun};OMP_NUM_THREADS=2;PYTHONDONTWRITEBYTECODE=1;MPLBACKEND=Agg;${LEXIKOS_TEST_ENVIRONMENT}"
    LABELS "${folder};${arg_LABELS}"
    PROCESSORS ${arg_PROCESSORS} TIMEOUT ${arg_TIMEOUT})
endfunction()
