// SPDX-License-Identifier: Apache-2.0
// What is used of libhdf5. It comes with thirty libraries of its own (for files on the web), so it is loaded when it is
// needed and not linked. Only for hdf5rows.cpp.
#pragma once

#include "core/base/result.h"

#include <hdf5.h>

namespace retro::rows
{

/// Functions of the library by their own names, and its types.
struct Hdf5
{
#define RETRO_HDF5_FUNCTIONS(X)                                                                                        \
    X(H5dont_atexit)                                                                                                   \
    X(H5open)                                                                                                          \
    X(H5Eset_auto2)                                                                                                    \
    X(H5Fcreate)                                                                                                       \
    X(H5Fopen)                                                                                                         \
    X(H5Fclose)                                                                                                        \
    X(H5Screate)                                                                                                       \
    X(H5Screate_simple)                                                                                                \
    X(H5Sclose)                                                                                                        \
    X(H5Sselect_hyperslab)                                                                                             \
    X(H5Sget_simple_extent_ndims)                                                                                      \
    X(H5Sget_simple_extent_dims)                                                                                       \
    X(H5Pcreate)                                                                                                       \
    X(H5Pset_chunk)                                                                                                    \
    X(H5Pclose)                                                                                                        \
    X(H5Dcreate2)                                                                                                      \
    X(H5Dopen2)                                                                                                        \
    X(H5Dclose)                                                                                                        \
    X(H5Dget_space)                                                                                                    \
    X(H5Dset_extent)                                                                                                   \
    X(H5Dwrite)                                                                                                        \
    X(H5Dread)                                                                                                         \
    X(H5Dvlen_reclaim)                                                                                                 \
    X(H5Tcopy)                                                                                                         \
    X(H5Tset_size)                                                                                                     \
    X(H5Tset_cset)                                                                                                     \
    X(H5Tclose)                                                                                                        \
    X(H5Aexists)                                                                                                       \
    X(H5Acreate2)                                                                                                      \
    X(H5Aopen)                                                                                                         \
    X(H5Aread)                                                                                                         \
    X(H5Awrite)                                                                                                        \
    X(H5Aclose)
#define RETRO_HDF5_MEMBER(name) decltype(&::name) name = nullptr;
    RETRO_HDF5_FUNCTIONS(RETRO_HDF5_MEMBER)
#undef RETRO_HDF5_MEMBER
    hid_t floats = -1;   ///< float32
    hid_t doubles = -1;  ///< float64
    hid_t wholes = -1;   ///< int64
    hid_t text = -1;     ///< C strings
    hid_t creation = -1; ///< class of properties that a dataset is made with

    /// The library, loaded once. Errors (Usage): it is not installed.
    [[nodiscard]] static base::Result<const Hdf5*> library();
};

} // namespace retro::rows
