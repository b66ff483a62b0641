// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/breakpointlist.h"

#include <QObject>
#include <QStringList>

#include <memory>

class QSettings;

namespace retro::app
{

/// Keeps the breakpoints of each model: another model brings its own, the same model gets back those that it had, with
/// a store also after a restart. A model is known by the structure of its graph, so that it may be renamed, moved or
/// trained on, and so that its recorded runs have them too. GUI thread.
class BreakpointMemory final : public QObject
{
    Q_OBJECT

public:
    /// Models whose breakpoints are kept; those that were changed longest ago are forgotten first.
    static constexpr int kMostModels = 40;

    /// Follows the list from now on; both must outlive this.
    BreakpointMemory(const views::RunModel& model, views::BreakpointList& list, QObject* parent = nullptr);

    /// Takes what `store` has, and writes every change to it from now on. It must outlive this.
    void useStore(QSettings& store);

private:
    struct Kept
    {
        QString model;
        QStringList conditions;
    };

    void takeRun();
    void keep();
    void write();
    [[nodiscard]] QStringList conditionsOf(const QString& model) const;

    const views::RunModel& m_model;
    views::BreakpointList& m_list;
    QSettings* m_store = nullptr;
    std::weak_ptr<const graph::Graph> m_graph; ///< the one that m_key is of
    QString m_key;                             ///< of the model on screen; empty before the first
    QList<Kept> m_kept;                        ///< newest first
};

} // namespace retro::app
