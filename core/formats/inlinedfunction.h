// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace retro::formats
{

/// A function that a model defines or that an operator stands for, and what became of the calls of it as the model was
/// read; or a note about something else that reading changed.
struct InlinedFunction
{
    std::string name;                ///< with its domain and overload: "pkg.nn::Block"
    std::vector<std::string> calls;  ///< names of the calls, which are nodes no more
    std::vector<std::string> values; ///< what the nodes in their place make
    std::string note = {};           ///< not empty: this is the note, and no function
};

} // namespace retro::formats
