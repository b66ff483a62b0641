// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/storagefacts.h"

#include <QWidget>

class QTableView;

namespace retro::views
{

class JobRunner;
class StorageCurve;
class StorageModel;

/// The tensors that a gradient reads, each marked to be stored or rebuilt, beside the memory curve that this gives: a
/// mark moves the curve at once. Peak and cost are those of core/analysis/liveness, worked out aside.
class MemoryPage final : public QWidget
{
    Q_OBJECT

public:
    explicit MemoryPage(QWidget* parent = nullptr);

    /// Null = nobody knows.
    void setFacts(StorageFactsPointer facts);
    [[nodiscard]] const StorageFactsPointer& facts() const { return m_facts; }
    /// "peak 1.2 MB, 1.6 MB with everything stored; 3 rebuilt, 2.1e6 FLOP more".
    [[nodiscard]] const QString& message() const { return m_message; }
    [[nodiscard]] StorageModel& items() const { return *m_items; }
    [[nodiscard]] StorageCurve& curve() const { return *m_curve; }

signals:
    void messageChanged();
    void nodeChosen(retro::base::NodeId node);
    void nodeActivated(retro::base::NodeId node);

private:
    void makeTable();
    void follow();
    void markAll(bool isStored);
    void choose(bool isActivated);

    StorageFactsPointer m_facts;
    StorageModel* m_items = nullptr;
    QTableView* m_table = nullptr;
    StorageCurve* m_curve = nullptr;
    JobRunner* m_jobs = nullptr;
    QString m_message;
};

} // namespace retro::views
