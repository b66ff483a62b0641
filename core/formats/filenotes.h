// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/inlinedfunction.h"

#include <map>
#include <string>
#include <vector>

namespace retro::formats
{

/// How a model file is read.
struct ReadOptions
{
    /// Weights stay in the file: of every initializer that is larger than a handful of numbers or lies in another file,
    /// type and shape alone are taken.
    bool withoutWeights = false;
};

/// What a graph does not say of the file that it was read from.
struct FileNotes
{
    std::vector<InlinedFunction> inlined;      ///< functions that were written out
    std::vector<std::string> optionalInputs;   ///< constants that the file also lists as inputs: others can be given
    std::map<std::string, std::string> absent; ///< constants without data, by name: why, and what to do
    std::map<std::string, std::string> otherTypes; ///< results that are declared as no tensors of numbers, by name
};

} // namespace retro::formats
