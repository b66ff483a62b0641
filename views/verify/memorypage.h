// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/storagefacts.h"

#include <QWidget>

class QCheckBox;
class QLabel;
class QTableView;

namespace retro::views
{

class JobRunner;
class StorageCurve;
class StorageModel;

/// The tensors that a gradient reads, each marked to be stored or rebuilt, beside the memory curve that this gives: a
/// mark moves the curve at once, and the gradient can be run by the marks. Peak and cost are those of
/// core/analysis/liveness, worked out aside. What became of each tensor in the run on screen stands beside its mark,
/// where that run says so; of a recorded run this is all there is.
class MemoryPage final : public QWidget
{
    Q_OBJECT

public:
    explicit MemoryPage(QWidget* parent = nullptr);

    /// Null = nobody knows.
    void setFacts(StorageFactsPointer facts);
    [[nodiscard]] const StorageFactsPointer& facts() const { return m_facts; }
    /// What the run on screen did with its forward values; empty = it does not say.
    void setForwarded(std::vector<ForwardedTensor> forwarded);
    /// True when there is something to show.
    [[nodiscard]] bool isFilled() const;
    /// "peak 1.2 MB, 1.6 MB with everything stored; 3 rebuilt, 2.1e6 FLOP more"; of a recorded run, what it kept.
    [[nodiscard]] QString message() const;
    /// "This run kept 0.4 MB of 1.6 MB", and what became of the tensor that is chosen, or of the first that is not as
    /// wished for; empty where the run does not say.
    [[nodiscard]] QString detail() const;
    [[nodiscard]] StorageModel& items() const { return *m_items; }
    [[nodiscard]] StorageCurve& curve() const { return *m_curve; }

signals:
    void messageChanged();
    void nodeChosen(retro::base::NodeId node);
    void nodeActivated(retro::base::NodeId node);
    /// The gradient is to be run with these values rebuilt and all others stored; `isPacked`: as signs and winners
    /// where their readers look at no more.
    void gradientRequested(const std::vector<retro::base::ValueId>& rebuilt, bool isPacked);

private:
    void makeButtons();
    void askGradient();
    void showColumns();
    void showDetail();
    [[nodiscard]] int detailRow() const;
    [[nodiscard]] QString runMessage() const;
    void makeTable();
    void follow();
    void markAll(bool isStored);
    void choose(bool isActivated);

    StorageFactsPointer m_facts;
    StorageModel* m_items = nullptr;
    QTableView* m_table = nullptr;
    StorageCurve* m_curve = nullptr;
    QLabel* m_detail = nullptr;
    QWidget* m_buttons = nullptr;
    QCheckBox* m_pack = nullptr;
    JobRunner* m_jobs = nullptr;
    QString m_message;
};

} // namespace retro::views
