// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::trace
{

/// Number of RunFacts that is 1 for a traversal as the source document has it.
inline constexpr const char* kDocumentNumber = "traversal_document";

} // namespace retro::trace
