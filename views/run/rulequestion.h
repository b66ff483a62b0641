// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

#include <functional>
#include <utility>
#include <vector>

namespace retro::views
{

/// A rule that a node can have, with its parameters and what they usually are.
struct RuleOption
{
    QString name;    ///< "gamma"
    QString formula; ///< "R_in = …"; may be empty
    std::vector<std::pair<QString, QString>> parameters = {};
    /// What they are at this node, in the same order, when it has the rule already; else empty: as usual.
    std::vector<QString> present = {};
    /// The words that each can have, in the same order; an empty list: any number or text.
    std::vector<QStringList> options = {};
};

/// Which nodes a changed rule is for.
struct RuleReach
{
    QString title;   ///< "Every Conv"
    QString matcher; ///< "op:Conv", as on the command line
};

/// What is asked when the rule of a node is to be changed. Plain values.
struct RuleQuestion
{
    QString node;         ///< "/features/0/Conv (Conv, linear map)"
    QString now;          ///< "z-plus, epsilon 1e-06, chosen by op Conv"
    QString current;      ///< name of the rule it has
    QString numbers = {}; ///< what arrived at the node and where it went, in the run on screen; may be empty
    std::vector<RuleReach> reaches = {};
    std::vector<RuleOption> rules = {};
    /// What is wrong with `MATCHER=RULE:key=value,…`; empty = nothing.
    std::function<QString(const QString&)> problemOf = {};
    /// The formula of a readable `MATCHER=RULE:key=value,…` at the node; empty = none is written down. Not there: that
    /// of the option stays.
    std::function<QString(const QString&)> formulaOf = {};
};

} // namespace retro::views
