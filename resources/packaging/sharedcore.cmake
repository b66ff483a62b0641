# SPDX-License-Identifier: Apache-2.0
# All of core and kernels once, as lib/libretrograde-core.so beside bin: a wheel holds three programs and two modules
# that would each have it inside. The objects are those of every build; what they call of each other stays in there.
get_property(libraries GLOBAL PROPERTY RETRO_LIBRARIES)
list(TRANSFORM libraries REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(retrograde_core SHARED ${objects} $<TARGET_OBJECTS:core_formats_schema>)
set_target_properties(retrograde_core PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME retrograde-core
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_link_libraries(retrograde_core PRIVATE ${libraries}) # for what these need
target_link_options(retrograde_core PRIVATE LINKER:-Bsymbolic-functions)
