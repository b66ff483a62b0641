// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace retro::tapetest
{

/// Each checks one golden case of its kinds; "" or what differs.
std::string checkPass(const nlohmann::json& golden);     ///< tape
std::string checkFault(const nlohmann::json& golden);    ///< tape_error
std::string checkCritical(const nlohmann::json& golden); ///< ccs
std::string checkLiveness(const nlohmann::json& golden); ///< liveness
std::string checkChoice(const nlohmann::json& golden);   ///< choice

} // namespace retro::tapetest
