# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=<header> -P headersof.cmake -- <sources …>: writes a header that includes what the sources include, once each,
# and leaves the file alone where nothing changed (retro_batch_tests in CMakeLists.txt).
set(headers)
math(EXPR last "${CMAKE_ARGC} - 1")
set(isSource FALSE)
foreach(i RANGE ${last})
    if(isSource)
        file(STRINGS ${CMAKE_ARGV${i}} included REGEX "^#include .*[^c][\">]$") # not what moc writes
        list(APPEND headers ${included})
    elseif(CMAKE_ARGV${i} STREQUAL "--")
        set(isSource TRUE)
    endif()
endforeach()
list(REMOVE_DUPLICATES headers)
list(JOIN headers "\n" headers)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n@headers@\n" @ONLY)
